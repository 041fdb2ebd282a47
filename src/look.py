from unrolled.commands.look import main

if __name__ == "__main__":
    main()
