from unrolled.commands.align import main

if __name__ == "__main__":
    main()
